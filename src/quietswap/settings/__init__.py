"""Every setting of the service: what there is (`schema`) and how it is read (`load`)."""

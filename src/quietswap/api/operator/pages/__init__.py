"""The pages of the operator view, one module per subject: records in, HTML out."""

"""The documentation site: `make docs` builds it into site/, without network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

project = "quietswap"
extensions = ["myst_parser", "site_extension"]
exclude_patterns = ["README.md", "_static"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
nitpicky = True

html_theme = "furo"
html_title = "quietswap"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0f5a5a",
        "color-brand-content": "#0f6b6b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cc5c0",
        "color-brand-content": "#6cc5c0",
    },
}

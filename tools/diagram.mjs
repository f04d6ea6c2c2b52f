// Draw the Mermaid diagram on standard input as SVG: `node tools/diagram.mjs < diagram`.
// Colours are the page's, by CSS variables; no font is fetched from anywhere.
import { readFileSync } from "node:fs";
import { renderMermaidSVG } from "beautiful-mermaid";

const svg = renderMermaidSVG(readFileSync(0, "utf8"), {
  font: "system-ui",
  transparent: true,
  bg: "var(--color-background-primary)",
  fg: "var(--color-foreground-primary)",
  padding: 8,
});
process.stdout.write(svg.replace(/^\s*@import url\(.*\);\n/m, ""));

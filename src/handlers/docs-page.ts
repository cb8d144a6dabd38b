/** The documentation page: every route in one list, without a script. */
import { rest } from '../api/rest/index.ts'
import type { Table } from '../api/route.ts'
import { REST, scopeTable } from '../auth/scopes.ts'

const need = scopeTable(REST)

function rows(): string {
  const table: Table = rest
  return Object.entries(table)
    .flatMap(([group, routes]) => [
      `<tr><th colspan="4" scope="rowgroup">${group}</th></tr>`,
      ...Object.values(routes).map(
        ({ method, path, summary }) =>
          `<tr><td><code>${method}</code></td><td><code>${path}</code></td>` +
          `<td>${need(method, path.slice(1).split('/'))}</td>` +
          `<td>${summary}</td></tr>`,
      ),
    ])
    .join('\n')
}

/** The page as HTML. */
export const docsPage = (): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Countersign API</title>
<h1>Countersign API</h1>
<p>The typed document is <a href="/api/v1/openapi.json">openapi.json</a>. Every route below needs
<code>Authorization: Bearer &lt;token&gt;</code> with at least the scope in the third column, or none.
<code>POST /api/v1/token</code> with <code>{"name": "…", "scope": "read"}</code> creates a token.</p>
<table>
<thead><tr><th>Method</th><th>Path</th><th>Scope</th><th>What it does</th></tr></thead>
<tbody>
${rows()}
</tbody>
</table>
</html>
`

import type { ComponentChildren } from 'preact'

/**
 * A table in a box that scrolls if the window is narrow.
 * @param of `label`: the name of the table; `children`: its head and body
 */
export const TableBox = (of: {
  readonly label: string
  readonly heading: readonly ComponentChildren[]
  readonly children: ComponentChildren
}) => (
  <div class="table" role="region" tabIndex={0} aria-label={of.label}>
    <table>
      <thead>
        <tr>
          {of.heading.map((text, at) => (
            <th key={at} scope="col">
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{of.children}</tbody>
    </table>
  </div>
)

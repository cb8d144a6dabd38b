/** A button that saves a list as CSV. */
import { useSignal } from '@preact/signals'
import { useAction } from '../../data/action.ts'
import { csvOf } from '../../data/csv.ts'
import { saveTextFile } from '../../data/download.ts'
import { filled, messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'

/** The button. `rows` returns all rows of the list, the first with the headings. */
export const CsvButton = (of: {
  readonly fileName: string
  readonly rows: () => Promise<readonly (readonly string[])[]>
}) => {
  const { log } = messages()
  const saved = useSignal<number | null>(null)
  const action = useAction(async () => {
    const rows = await of.rows()
    saveTextFile(of.fileName, 'text/csv;charset=utf-8', csvOf(rows))
    saved.value = rows.length - 1
  })
  return (
    <>
      <ActionButton action={action}>{log.save}</ActionButton>
      <span role="status" class="done">
        {saved.value === null ? null : filled(log.saved, { count: saved.value })}
      </span>
      <FailureNotice of={action.failure} />
    </>
  )
}

/** Stamps: signed content that everyone can check. */
import { useSignal } from '@preact/signals'
import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { StampCheckForm, StampCheckResult, type StampChecked } from './stamp-check.tsx'
import { StampForm } from './stamp-form.tsx'
import { StampList } from './stamp-list.tsx'

/** The page. */
export default function StampsPage() {
  const { frame, stamps } = messages()
  const checked = useSignal<StampChecked | null>(null)
  return (
    <PageFrame title={frame.stamps} lead={stamps.lead}>
      <div class="grid wide">
        <StampForm />
        <StampCheckForm
          onResult={(result) => {
            checked.value = result
          }}
        />
      </div>
      <StampCheckResult of={checked.value} />
      <StampList />
    </PageFrame>
  )
}

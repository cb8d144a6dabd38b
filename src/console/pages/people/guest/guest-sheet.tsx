/** The sheet that is printed for a guest: the QR code, the name and three steps. */
import { useEffect } from 'preact/hooks'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import type { Schemas } from '../../../data/api.ts'
import { thisMinute } from '../../../data/clock.ts'
import { ownProfile } from '../../../data/own-profile.ts'
import { useShared } from '../../../data/resource.ts'
import { filled, MessageText, messages, timeShort } from '../../../text/text.tsx'
import { Name } from '../../../ui/person-name.tsx'
import { GuestQr } from './guest-qr.tsx'

/**
 * Prints the sheet. Only the printer shows it, and nothing else of the page.
 * @param props `onEnd`: called after it was printed
 */
export const GuestSheet = (props: {
  readonly of: Schemas['GuestCode']
  readonly onEnd: () => void
}) => {
  const { people } = messages()
  const { of } = props
  useEffect(() => {
    addEventListener('afterprint', props.onEnd)
    return () => removeEventListener('afterprint', props.onEnd)
  }, [])
  const profile = useShared(ownProfile, ['session.*']).data.value
  if (profile === undefined) return null
  const owner = displayedName(profile.display_name)
  return (
    <section class="guest-sheet">
      <h2>{filled(people.sheetTitle, { owner })}</h2>
      <p>
        <MessageText
          of={people.sheetFor}
          values={{ name: <Name of={of.external_member?.display_name ?? of.label} /> }}
        />
      </p>
      <GuestQr
        of={of}
        onLoad={() => {
          print()
        }}
      />
      <ol>
        <li>{people.sheetScan}</li>
        <li>{filled(people.sheetCalled, { owner })}</li>
        <li>{filled(people.sheetCalling, { owner })}</li>
      </ol>
      <p>{filled(people.sheetKeep, { time: timeShort(of.expires_at, thisMinute.value) })}</p>
    </section>
  )
}

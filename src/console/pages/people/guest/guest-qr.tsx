/** The QR code of a guest's link, which only the device that made the code can show. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { useResource } from '../../../data/resource.ts'
import { filled, messages } from '../../../text/text.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'

/** Returns the address of an image in memory, for as long as the component is shown. */
function useImageUrl(svg: string | undefined): string | null {
  const url = useSignal<string | null>(null)
  useEffect(() => {
    if (svg === undefined) return
    const made = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
    url.value = made
    return () => URL.revokeObjectURL(made)
  }, [svg])
  return url.value
}

/**
 * Shows the QR code.
 * @param props `onLoad`: called when the image is shown
 */
export const GuestQr = (props: {
  readonly of: Schemas['GuestCode']
  readonly onLoad?: () => void
}) => {
  const { people } = messages()
  const { id, label } = props.of
  const qr = useResource(
    `qr ${id}`,
    () =>
      dataOf(
        api.GET('/api/v1/guest-codes/{id}/qr', {
          params: { path: { id }, query: { format: 'svg' } },
          parseAs: 'text',
        }),
      ),
    [],
  )
  const url = useImageUrl(qr.data.value)
  if (qr.failure.value?.code === 'secret_unavailable') return <p>{people.guestQrElsewhere}</p>
  return (
    <>
      <FailureNotice of={qr.failure} />
      {url === null ? null : (
        <img
          class="qr"
          src={url}
          alt={filled(people.guestQrAlt, { name: displayedName(label) })}
          onLoad={props.onLoad}
        />
      )}
    </>
  )
}

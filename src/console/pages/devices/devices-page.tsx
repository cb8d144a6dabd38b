import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function DevicesPage() {
  return <PageFrame title={messages().frame.devices}>{null}</PageFrame>
}

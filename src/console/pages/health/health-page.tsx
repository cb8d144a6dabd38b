import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function HealthPage() {
  return <PageFrame title={messages().frame.health}>{null}</PageFrame>
}

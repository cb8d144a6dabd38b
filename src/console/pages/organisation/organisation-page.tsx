import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function OrganisationPage() {
  return <PageFrame title={messages().frame.organisation}>{null}</PageFrame>
}

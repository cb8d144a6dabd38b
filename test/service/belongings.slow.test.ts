/** The addresses of an account and its active organisation, on both engines. */
import { activeOrgSuite } from './organisations/active-org.suite.ts'
import { emailBoundsSuite } from './email-bounds.suite.ts'
import { emailStatesSuite } from './email-states.suite.ts'
import { emailsSuite } from './emails.suite.ts'
import { onBothEngines } from './engines.ts'

onBothEngines((name, engine) => {
  activeOrgSuite(name, engine)
  emailsSuite(name, engine)
  emailStatesSuite(name, engine)
  emailBoundsSuite(name, engine)
})

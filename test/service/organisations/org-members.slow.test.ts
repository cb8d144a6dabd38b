/** Members of organisations and the effects of their suspension, on both engines. */
import { onBothEngines } from '../engines.ts'
import { orgJoiningSuite } from './org-joining.suite.ts'
import { orgMembersSuite } from './org-members.suite.ts'
import { orgSuspensionSuite } from './org-suspension.suite.ts'

onBothEngines((name, engine) => {
  orgMembersSuite(name, engine)
  orgJoiningSuite(name, engine)
  orgSuspensionSuite(name, engine)
})

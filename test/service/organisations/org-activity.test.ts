/** Activities of organisations and the figures computed from them, on both engines. */
import { onBothEngines } from '../engines.ts'
import { orgActivitySuite } from './org-activity.suite.ts'
import { orgAnalyticsSuite } from './org-analytics.suite.ts'

onBothEngines((name, engine) => {
  orgActivitySuite(name, engine)
  orgAnalyticsSuite(name, engine)
})

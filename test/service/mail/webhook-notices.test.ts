/** Reports of given-up webhooks on both engines. */
import { onBothEngines } from '../engines.ts'
import { webhookNoticesSuite } from './webhook-notices.suite.ts'

onBothEngines(webhookNoticesSuite)

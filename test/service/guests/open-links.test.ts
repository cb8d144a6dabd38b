/** Open links, their requests and their answers, on both engines. */
import { after, before, describe } from 'node:test'
import { onBothEngines } from '../engines.ts'
import { openLinkAnswersSuite } from './open-link-answers.suite.ts'
import { openLinkConfirmationsSuite } from './open-link-confirmations.suite.ts'
import { openLinkPagesSuite } from './open-link-pages.suite.ts'
import { openLinkSlugsSuite } from './open-link-slugs.suite.ts'
import { openLinksSubject, type Links } from './open-links-subject.ts'
import { openLinksSuite } from './open-links.suite.ts'

onBothEngines((name, { newPlace }) => {
  describe(`open links: ${name}`, () => {
    let links: Links
    before(async () => {
      links = await openLinksSubject(newPlace)
    })
    after(() => links.close())

    openLinksSuite(() => links)
    openLinkSlugsSuite(() => links)
    openLinkPagesSuite(() => links)
    openLinkConfirmationsSuite(() => links)
    openLinkAnswersSuite(() => links)
  })
})

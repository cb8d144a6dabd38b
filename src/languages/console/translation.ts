/** The types of the console's catalogues. */
import type en from './en/index.ts'
import { translationOf, type CatalogueOf } from '../translation.ts'

type ConsoleEnglish = typeof en

/** The messages of the console in a language, by group and key. */
export type ConsoleMessages = CatalogueOf<ConsoleEnglish>

/** Makes a catalogue of the console. */
export const consoleTranslation = translationOf<ConsoleEnglish>()

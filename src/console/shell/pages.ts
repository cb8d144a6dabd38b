/** The pages of the console, in the order of the navigation. Each is loaded when first shown. */
import type { ComponentType } from 'preact'
import type { ConsoleMessages } from '../../languages/console/translation.ts'
import type { PageProps } from './page-props.ts'

interface ConsolePage {
  /** The first segment of the address. */
  readonly name: keyof ConsoleMessages['frame']
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>
}

/** All pages. The first one is shown if the address names none. */
export const PAGES: readonly [ConsolePage, ...ConsolePage[]] = [
  { name: 'call', load: () => import('../pages/call/call-page.tsx') },
  { name: 'people', load: () => import('../pages/people/people-page.tsx') },
  { name: 'needs', load: () => import('../pages/needs/needs-page.tsx') },
  { name: 'devices', load: () => import('../pages/devices/devices-page.tsx') },
  { name: 'stamps', load: () => import('../pages/stamps/stamps-page.tsx') },
  { name: 'log', load: () => import('../pages/log/log-page.tsx') },
  { name: 'tokens', load: () => import('../pages/tokens/tokens-page.tsx') },
  { name: 'organisation', load: () => import('../pages/organisation/organisation-page.tsx') },
  { name: 'health', load: () => import('../pages/health/health-page.tsx') },
  { name: 'settings', load: () => import('../pages/settings/settings-page.tsx') },
]

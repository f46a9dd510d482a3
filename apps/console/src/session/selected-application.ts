import type { Application, Session } from '../api/records.ts'
import { OVERVIEW_OF_ALL, type Place } from './application-path.ts'

const STORAGE_KEY = 'herald.application'
/** Remembered instead of an id when the operator looks at all applications. */
const ALL = 'all'

/** The operator's pages of all applications. */
const pagesOfAll = [OVERVIEW_OF_ALL, '/audit']

type Known = {
  place: Place
  session: Session
  applications: readonly Application[]
  remembered: string | undefined
}

/**
 * The application of the page is the one in its URL, so another tab cannot change it. Pages without one, such as the list of
 * applications and old links, use the last one of the tab. Undefined: all applications.
 */
export function selectedApplication({ place, session, applications, remembered }: Known): string | undefined {
  if (session.role === 'application') return session.app_id
  const isKnown = (id: string | undefined) => applications.some(({ app_id }) => app_id === id)
  // A call with an unknown application would end the session.
  if (place.appId !== undefined) return isKnown(place.appId) ? place.appId : undefined
  if (pagesOfAll.includes(place.path) || remembered === ALL) return undefined
  if (isKnown(remembered)) return remembered
  return applications.length === 1 ? applications[0]?.app_id : undefined
}

/** The last application of this tab; for a new tab, of any tab. */
export function rememberedApplication(): string | undefined {
  return sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY) ?? undefined
}

export function rememberApplication(appId: string | undefined): void {
  for (const storage of [sessionStorage, localStorage]) storage.setItem(STORAGE_KEY, appId ?? ALL)
}

/** Whether the page itself says which application it shows, or that it shows all. */
export function namesApplication({ appId, path }: Place): boolean {
  return appId !== undefined || pagesOfAll.includes(path)
}

import { useNavigate } from 'react-router'
import { useCurrentSession } from './session.ts'

/** A path of the console below /console, with its application taken off. */
export type Place = { appId: string | undefined; path: string }

export function placeOf(pathname: string): Place {
  const [, encoded, rest] = /^\/a\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
  if (encoded === undefined) return { appId: undefined, path: pathname }
  return { appId: decoded(encoded), path: rest ?? '/' }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The overview of all applications. Not `/overview`: the API answers that path itself. */
export const OVERVIEW_OF_ALL = '/all'

/** `path` begins with a slash and may have a query. Without an application: the operator's pages of all applications. */
export function pathIn(appId: string | undefined, path: string): string {
  if (appId === undefined) return path === '/' ? OVERVIEW_OF_ALL : path
  return `/a/${encodeURIComponent(appId)}${path === '/' ? '' : path}`
}

/** Where the console stays when another application is selected: the same page, or the list of a record, which belongs to one application. */
export function samePage({ appId, path }: Place): string {
  if (appId === undefined && (path === OVERVIEW_OF_ALL || path === '/applications')) return '/'
  if (path.startsWith('/tasks/')) return '/tasks'
  if (path === '/device') return '/devices'
  return path
}

/** The operator's page of all applications that is nearest to a page of one application. */
export function pathOfAll(page: string): string {
  return page === '/audit' ? page : pathIn(undefined, '/')
}

/** Returns the full path of a page of the current application. */
export function useAppPath(): (path: string) => string {
  const { appId } = useCurrentSession()
  return (path) => pathIn(appId, path)
}

/** Opens a page of the current application. */
export function useAppNavigate(): (path: string, options?: { replace?: boolean }) => void | Promise<void> {
  const navigate = useNavigate()
  const pathOf = useAppPath()
  return (path, options) => navigate(pathOf(path), options)
}

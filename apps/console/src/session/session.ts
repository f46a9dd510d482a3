import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { allowPageCalls, isSignedOut, stopPageCalls } from '../api/call.ts'
import { listApplications, readSession, signOut } from '../api/calls.ts'
import type { Application, Session } from '../api/records.ts'
import { runSignOutTasks } from './sign-out-tasks.ts'

/** The signed-in session and the selected application. */
export type CurrentSession = {
  session: Session
  /** Undefined: an operator who selected all applications. */
  appId: string | undefined
  applicationName: string
  applications: readonly Application[]
  signOut(): void
}

export const SessionContext = createContext<CurrentSession | undefined>(undefined)

export function useCurrentSession(): CurrentSession {
  const current = useContext(SessionContext)
  if (!current) throw new Error('useCurrentSession needs a SessionContext')
  return current
}

/** For pages of one application, `/a/<app_id>/…`. */
export function useAppId(): string {
  const { appId } = useCurrentSession()
  if (appId === undefined) throw new Error('No application is selected')
  return appId
}

/** Scripts cannot read the session cookie. Without this entry the console does not request the session, because the response would be 401. */
const STORAGE_KEY = 'herald.signed-in'

/** Whether a session was open when this browser was last used. */
export const wasSignedIn = () => localStorage.getItem(STORAGE_KEY) !== null

/** The data is null when nobody is signed in. */
export function useSessionQuery() {
  return useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      if (!wasSignedIn()) return null
      try {
        return await readSession()
      } catch (error) {
        if (isSignedOut(error)) return null
        throw error
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Removes all cached data: it belongs to the previous session. */
export function setSession(queries: QueryClient, session: Session | null): void {
  if (session) {
    localStorage.setItem(STORAGE_KEY, '1')
    allowPageCalls()
  } else localStorage.removeItem(STORAGE_KEY)
  queries.setQueryData(['session'], session)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

export function useApplicationsQuery(session: Session | null | undefined) {
  return useQuery({
    queryKey: ['applications'],
    queryFn: listApplications,
    enabled: session?.role === 'operator',
  })
}

export type SigningOut = ReturnType<typeof useSignOut>

/** Fails if the session may still exist on the server. */
export function useSignOut() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => {
      stopPageCalls()
      try {
        await signOut()
      } catch (error) {
        // The session had ended before.
        if (!isSignedOut(error)) throw error
      } finally {
        // The pages are hidden even if the request fails.
        runSignOutTasks()
        setSession(queries, null)
      }
    },
  })
}

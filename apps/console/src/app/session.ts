import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { isSignedOut } from '../api/call.ts'
import { listApplications, readSession, signOut } from '../api/calls.ts'
import type { Application, Session } from '../api/records.ts'

/** Who is signed in and which application is looked at. */
export type Who = {
  session: Session
  /** Undefined: an operator who looks at all. */
  appId: string | undefined
  applicationName: string
  applications: readonly Application[]
  choose(appId: string | undefined): void
  leave(): Promise<void>
}

export const WhoContext = createContext<Who | undefined>(undefined)

export function useWho(): Who {
  const who = useContext(WhoContext)
  if (!who) throw new Error('Nobody is signed in here')
  return who
}

/** The application of a page that cannot be drawn without one; `Needed` sees to that. */
export function useAppId(): string {
  const { appId } = useWho()
  if (appId === undefined) throw new Error('No application is chosen')
  return appId
}

/** The cookie cannot be seen from here; this says whether asking whose it is can have an answer. */
const KEPT = 'herald.signed-in'

/** Null: nobody is signed in. */
export function useSession() {
  return useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      if (localStorage.getItem(KEPT) === null) return null
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

/** Puts somebody, or nobody, behind the door, and forgets what others have seen there. */
export function enter(queries: QueryClient, session: Session | null): void {
  if (session) localStorage.setItem(KEPT, '1')
  else localStorage.removeItem(KEPT)
  queries.setQueryData(['session'], session)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

export function useApplications(session: Session | null | undefined) {
  return useQuery({
    queryKey: ['applications'],
    queryFn: listApplications,
    enabled: session?.role === 'operator',
  })
}

export function useLeave(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    // Whatever the answer: who wants to leave must not see the pages any longer.
    await signOut().catch(() => {})
    enter(queries, null)
  }
}

import { Center } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isSignedOut } from '../api/call.ts'
import type { Session } from '../api/records.ts'
import { ErrorAlert } from '../components/error-alert.tsx'
import { Loading } from '../components/loading.tsx'
import {
  type CurrentSession,
  SessionContext,
  setSession,
  useApplicationsQuery,
  useSessionQuery,
  useSignOut,
} from '../session/session.ts'

const SignIn = lazy(() => import('../pages/sign-in/sign-in.tsx'))
const Shell = lazy(() => import('./shell.tsx'))

/** Shows the console if somebody is signed in, otherwise the sign-in page, at the same URL. */
export function SignInGate() {
  const session = useSessionQuery()
  const ended = useSessionEnd(session.data)
  if (session.isPending) return <Loading />
  if (session.isError) return <LoadFailure query={session} />
  return (
    <Suspense fallback={<Loading />}>
      {session.data === null ? <SignIn ended={ended} /> : <SignedIn session={session.data} />}
    </Suspense>
  )
}

function LoadFailure({ query }: { query: { error: unknown; refetch(): unknown } }) {
  return (
    <Center mih="100vh" p="md">
      <ErrorAlert error={query.error} retry={query.refetch} />
    </Center>
  )
}

function SignedIn({ session }: { session: Session }) {
  const { t } = useTranslation()
  const signOut = useSignOut()
  const query = useApplicationsQuery(session)
  const [stored, setStored] = useLocalStorage<string>({
    key: 'herald.application',
    defaultValue: '',
    getInitialValueInEffect: false,
  })
  const operator = session.role === 'operator'
  if (operator && query.isPending) return <Loading />
  if (operator && !query.data) return <LoadFailure query={query} />
  const applications = query.data ?? []
  const remembered = applications.find(({ app_id }) => app_id === stored)
  const only = applications.length === 1 ? applications[0] : undefined
  const selected = remembered ?? (stored === 'all' ? undefined : only)
  const current: CurrentSession = {
    session,
    appId: operator ? selected?.app_id : session.app_id,
    applicationName: (operator ? selected?.name : session.name) ?? session.app_id ?? t('app.allApplications'),
    applications,
    selectApplication: (appId) => setStored(appId ?? 'all'),
    signOut,
  }
  return (
    <SessionContext value={current}>
      <Shell />
    </SessionContext>
  )
}

/** Ends the session when any call fails with 401. Returns true from then until the next sign-in. */
function useSessionEnd(session: Session | null | undefined): boolean {
  const queries = useQueryClient()
  const [ended, setEnded] = useState(false)
  useEffect(() => {
    if (session) setEnded(false)
  }, [session])
  useEffect(() => {
    const check = (error: unknown) => {
      if (!isSignedOut(error) || !queries.getQueryData(['session'])) return
      setEnded(true)
      setSession(queries, null)
    }
    const stops = [
      queries.getQueryCache().subscribe(({ query }) => check(query.state.error)),
      queries.getMutationCache().subscribe(({ mutation }) => check(mutation?.state.error)),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [queries])
  return ended
}

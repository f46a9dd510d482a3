import { Center } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isSignedOut } from '../api/call.ts'
import type { Session } from '../api/records.ts'
import { Problem } from '../parts/problem.tsx'
import { Waiting } from '../parts/waiting.tsx'
import { enter, useApplications, useLeave, useSession, type Who, WhoContext } from './session.ts'

const SignIn = lazy(() => import('../pages/sign-in/sign-in.tsx'))
const Shell = lazy(() => import('./shell.tsx'))

/** Shows the sign-in page to strangers and the console to the others, at the same address. */
export function Door() {
  const session = useSession()
  const ended = useSessionEnd(session.data)
  if (session.isPending) return <Waiting />
  if (session.isError) return <Shut query={session} />
  return (
    <Suspense fallback={<Waiting />}>
      {session.data === null ? <SignIn ended={ended} /> : <Inside session={session.data} />}
    </Suspense>
  )
}

/** Nothing can be shown without this answer. */
function Shut({ query }: { query: { error: unknown; refetch(): unknown } }) {
  return (
    <Center mih="100vh" p="md">
      <Problem error={query.error} retry={query.refetch} />
    </Center>
  )
}

function Inside({ session }: { session: Session }) {
  const { t } = useTranslation()
  const leave = useLeave()
  const query = useApplications(session)
  const [kept, setKept] = useLocalStorage<string>({
    key: 'herald.application',
    defaultValue: '',
    getInitialValueInEffect: false,
  })
  const operator = session.role === 'operator'
  if (operator && query.isPending) return <Waiting />
  if (operator && !query.data) return <Shut query={query} />
  const applications = query.data ?? []
  const known = applications.find(({ app_id }) => app_id === kept)
  const only = applications.length === 1 ? applications[0] : undefined
  const chosen = known ?? (kept === 'all' ? undefined : only)
  const who: Who = {
    session,
    appId: operator ? chosen?.app_id : session.app_id,
    applicationName: (operator ? chosen?.name : session.name) ?? session.app_id ?? t('app.allApplications'),
    applications,
    choose: (appId) => setKept(appId ?? 'all'),
    leave,
  }
  return (
    <WhoContext value={who}>
      <Shell />
    </WhoContext>
  )
}

/** Any call that is told nobody is signed in leads back to the door, where it is said until somebody signs in. */
function useSessionEnd(session: Session | null | undefined): boolean {
  const queries = useQueryClient()
  const [ended, setEnded] = useState(false)
  useEffect(() => {
    if (session) setEnded(false)
  }, [session])
  useEffect(() => {
    const look = (error: unknown) => {
      if (!isSignedOut(error) || !queries.getQueryData(['session'])) return
      setEnded(true)
      enter(queries, null)
    }
    const stops = [
      queries.getQueryCache().subscribe(({ query }) => look(query.state.error)),
      queries.getMutationCache().subscribe(({ mutation }) => look(mutation?.state.error)),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [queries])
  return ended
}

import { useQueryClient } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'react-router'
import { isSignedOut } from '../api/call.ts'
import type { Application, Session } from '../api/records.ts'
import { ErrorAlert } from '../components/error-alert.tsx'
import { Loading } from '../components/loading.tsx'
import { placeOf } from '../session/application-path.ts'
import {
  namesApplication,
  rememberApplication,
  rememberedApplication,
  selectedApplication,
} from '../session/selected-application.ts'
import {
  type CurrentSession,
  SessionContext,
  setSession,
  useApplicationsQuery,
  useSessionQuery,
  useSignOut,
  wasSignedIn,
} from '../session/session.ts'

import { Frame } from './frame.tsx'

const SignIn = lazy(() => import('../pages/sign-in/sign-in.tsx'))
const Shell = lazy(() => import('./shell.tsx'))

/** Shows the console if somebody is signed in, otherwise the sign-in page, at the same URL. */
export function SignInGate() {
  const session = useSessionQuery()
  const ended = useSessionEnd(session.data)
  const leaving = useSignOut()
  if (session.isPending || (session.data && leaving.isPending)) return <Waiting />
  if (session.isError)
    return (
      <Waiting>
        <ErrorAlert error={session.error} retry={session.refetch} />
      </Waiting>
    )
  return (
    <Suspense fallback={<Waiting />}>
      {session.data === null ? (
        <SignIn ended={ended} leaving={leaving} />
      ) : (
        <SignedIn session={session.data} signOut={leaving.mutate} />
      )}
    </Suspense>
  )
}

/** The frame of the console until it is known who is signed in; nothing for a visitor, who gets the sign-in page. */
export function Waiting({ children = <Loading /> }: { children?: ReactNode }) {
  const { appId } = placeOf(useLocation().pathname)
  if (!wasSignedIn()) return null
  return (
    <Frame appId={appId} operator={false}>
      {children}
    </Frame>
  )
}

type SignedInProps = Pick<CurrentSession, 'session' | 'signOut'>

function SignedIn({ session, signOut }: SignedInProps) {
  const query = useApplicationsQuery(session)
  const operator = session.role === 'operator'
  if (operator && query.isPending) return <Waiting />
  if (operator && !query.data)
    return (
      <Waiting>
        <ErrorAlert error={query.error} retry={query.refetch} />
      </Waiting>
    )
  return <WithApplication session={session} signOut={signOut} applications={query.data ?? []} />
}

function WithApplication({
  session,
  signOut,
  applications,
}: SignedInProps & { applications: readonly Application[] }) {
  const { t } = useTranslation()
  const place = placeOf(useLocation().pathname)
  const appId = selectedApplication({ place, session, applications, remembered: rememberedApplication() })
  const known = applications.find(({ app_id }) => app_id === appId)
  const name = known?.name ?? session.name
  const remembers = session.role === 'operator' && namesApplication(place) && place.appId === appId
  useEffect(() => {
    if (remembers) rememberApplication(appId)
  }, [remembers, appId])
  const current: CurrentSession = {
    session,
    appId,
    applicationName: name ?? appId ?? t('app.allApplications'),
    applications,
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
    // Other events can have the error of an older call: a failed sign-in is removed from the cache after five minutes.
    const stops = [
      queries.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'error') check(event.action.error)
      }),
      queries.getMutationCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'error') check(event.action.error)
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [queries])
  return ended
}

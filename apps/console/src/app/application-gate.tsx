import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import { useTranslation } from 'react-i18next'
import { Navigate, Outlet, useLocation } from 'react-router'
import { findTaskApplication } from '../api/calls.ts'
import { Loading } from '../components/loading.tsx'
import { OVERVIEW_OF_ALL, pathIn, placeOf, samePage } from '../session/application-path.ts'
import { useCurrentSession } from '../session/session.ts'
import { SelectApplication } from './select-application.tsx'

/** The pages of one application, `/a/<app_id>/…`. The key resets their state when another one is selected. */
export function ApplicationGate() {
  const { t } = useTranslation()
  const { session, applications } = useCurrentSession()
  const place = placeOf(useLocation().pathname)
  const isKnown =
    session.role === 'application'
      ? session.app_id === place.appId
      : applications.some(({ app_id }) => app_id === place.appId)
  if (isKnown)
    return (
      <Fragment key={place.appId}>
        <Outlet />
      </Fragment>
    )
  return (
    <SelectApplication
      path={samePage(place)}
      title={t('app.unknownApplication', { id: place.appId })}
      text={t(session.role === 'application' ? 'app.otherApplication' : 'app.unknownHint')}
    />
  )
}

/** The operator's pages of all applications. A session of one application gets its own. */
export function AllApplications() {
  const { session, appId } = useCurrentSession()
  const { pathname, search } = useLocation()
  if (session.role === 'operator') return <Outlet />
  return <Navigate replace to={pathIn(appId, pathname === OVERVIEW_OF_ALL ? '/' : pathname) + search} />
}

const renamed: Record<string, string> = { '/be-a-device': '/test-device' }

/** A path without an application: the entrance, and links of older releases. */
export function WithoutApplication() {
  const { t } = useTranslation()
  const { session, appId, applications } = useCurrentSession()
  const { pathname, search } = useLocation()
  const path = renamed[pathname] ?? pathname
  const taskId = session.role === 'operator' ? /^\/tasks\/(\d{1,16})$/.exec(path)?.[1] : undefined
  const owner = useQuery({
    queryKey: ['task-application', taskId],
    queryFn: () => findTaskApplication(Number(taskId)),
    enabled: taskId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (taskId !== undefined && owner.isPending) return <Loading />
  const target = owner.data?.app_id ?? appId
  if (target !== undefined || path === '/') return <Navigate replace to={pathIn(target, path) + search} />
  const hint = taskId === undefined ? 'app.selectHint' : 'app.taskUnknown'
  return (
    <SelectApplication
      path={path + search}
      title={t('app.selectApplication')}
      text={t(applications.length === 0 ? 'app.noApplications' : hint)}
    />
  )
}

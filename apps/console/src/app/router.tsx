import { createBrowserRouter } from 'react-router'
import { OVERVIEW_OF_ALL } from '../session/application-path.ts'
import { AllApplications, ApplicationGate, WithoutApplication } from './application-gate.tsx'
import { ErrorPage } from './error-page.tsx'
import { NotFound } from './not-found.tsx'
import { SignInGate, Waiting } from './sign-in-gate.tsx'

const overview = async () => (await import('../pages/overview/page.tsx')).page
const audit = async () => (await import('../pages/audit/page.tsx')).page

/** Paths of older releases, whose URLs had no application. */
const withoutApplication = [
  'send',
  'tasks',
  'tasks/:id',
  'statistics',
  'devices',
  'device',
  'certificates',
  'webhooks',
  'settings',
  'test-device',
  'be-a-device',
]

/** Each page is a chunk of its own, so that the sign-in page does not load the charts. */
export const router = createBrowserRouter(
  [
    {
      path: '/',
      element: <SignInGate />,
      errorElement: <ErrorPage />,
      hydrateFallbackElement: <Waiting />,
      children: [
        { index: true, element: <WithoutApplication /> },
        {
          path: 'a/:appId',
          element: <ApplicationGate />,
          children: [
            { index: true, lazy: overview },
            { path: 'send', lazy: async () => (await import('../pages/send/page.tsx')).page },
            { path: 'tasks', lazy: async () => (await import('../pages/tasks/page.tsx')).page },
            { path: 'tasks/:id', lazy: async () => (await import('../pages/task/page.tsx')).page },
            { path: 'statistics', lazy: async () => (await import('../pages/statistics/page.tsx')).page },
            { path: 'devices', lazy: async () => (await import('../pages/devices/page.tsx')).page },
            { path: 'device', lazy: async () => (await import('../pages/device/page.tsx')).page },
            { path: 'certificates', lazy: async () => (await import('../pages/certificates/page.tsx')).page },
            { path: 'webhooks', lazy: async () => (await import('../pages/webhooks/page.tsx')).page },
            { path: 'audit', lazy: audit },
            { path: 'settings', lazy: async () => (await import('../pages/settings/page.tsx')).page },
            { path: 'test-device', lazy: async () => (await import('../pages/test-device/page.tsx')).page },
            { path: '*', element: <NotFound /> },
          ],
        },
        {
          element: <AllApplications />,
          children: [
            { path: OVERVIEW_OF_ALL.slice(1), lazy: overview },
            { path: 'audit', lazy: audit },
          ],
        },
        { path: 'applications', lazy: async () => (await import('../pages/applications/page.tsx')).page },
        ...withoutApplication.map((path) => ({ path, element: <WithoutApplication /> })),
        { path: '*', element: <NotFound /> },
      ],
    },
  ],
  { basename: '/console' },
)

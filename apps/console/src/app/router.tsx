import { createBrowserRouter, Navigate } from 'react-router'
import { ErrorPage } from './error-page.tsx'
import { NotFound } from './not-found.tsx'
import { SignInGate } from './sign-in-gate.tsx'

/** Each page is a chunk of its own, so that the sign-in page does not load the charts. */
export const router = createBrowserRouter(
  [
    {
      path: '/',
      element: <SignInGate />,
      errorElement: <ErrorPage />,
      hydrateFallbackElement: <></>,
      children: [
        { index: true, lazy: async () => (await import('../pages/overview/page.tsx')).page },
        { path: 'send', lazy: async () => (await import('../pages/send/page.tsx')).page },
        { path: 'tasks', lazy: async () => (await import('../pages/tasks/page.tsx')).page },
        { path: 'tasks/:id', lazy: async () => (await import('../pages/task/page.tsx')).page },
        { path: 'statistics', lazy: async () => (await import('../pages/statistics/page.tsx')).page },
        { path: 'devices', lazy: async () => (await import('../pages/devices/page.tsx')).page },
        { path: 'device', lazy: async () => (await import('../pages/device/page.tsx')).page },
        { path: 'certificates', lazy: async () => (await import('../pages/certificates/page.tsx')).page },
        { path: 'webhooks', lazy: async () => (await import('../pages/webhooks/page.tsx')).page },
        { path: 'audit', lazy: async () => (await import('../pages/audit/page.tsx')).page },
        { path: 'settings', lazy: async () => (await import('../pages/settings/page.tsx')).page },
        { path: 'applications', lazy: async () => (await import('../pages/applications/page.tsx')).page },
        { path: 'test-device', lazy: async () => (await import('../pages/test-device/page.tsx')).page },
        // Former path of the test device.
        { path: 'be-a-device', element: <Navigate to="/test-device" replace /> },
        { path: '*', element: <NotFound /> },
      ],
    },
  ],
  { basename: '/console' },
)

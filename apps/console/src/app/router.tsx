import { createBrowserRouter } from 'react-router'
import { Broken } from './broken.tsx'
import { Door } from './door.tsx'
import { NotFound } from './not-found.tsx'

/** One chunk a page: whoever signs in does not load the charts. */
export const router = createBrowserRouter(
  [
    {
      path: '/',
      element: <Door />,
      errorElement: <Broken />,
      hydrateFallbackElement: <></>,
      children: [
        { index: true, lazy: async () => (await import('../pages/overview/page.tsx')).page },
        { path: 'send', lazy: async () => (await import('../pages/send/page.tsx')).page },
        { path: 'tasks', lazy: async () => (await import('../pages/tasks/page.tsx')).page },
        { path: 'tasks/:id', lazy: async () => (await import('../pages/task/page.tsx')).page },
        { path: 'devices', lazy: async () => (await import('../pages/devices/page.tsx')).page },
        { path: 'device', lazy: async () => (await import('../pages/device/page.tsx')).page },
        { path: 'certificates', lazy: async () => (await import('../pages/certificates/page.tsx')).page },
        { path: 'applications', lazy: async () => (await import('../pages/applications/page.tsx')).page },
        { path: 'be-a-device', lazy: async () => (await import('../pages/native-device/page.tsx')).page },
        { path: '*', element: <NotFound /> },
      ],
    },
  ],
  { basename: '/console' },
)

import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from 'react-router/dom'
import { isRefused } from '../api/call.ts'
import { theme, variables } from '../session/theme.ts'
import { router } from './router.tsx'

/** The server writes a new nonce into each page. The content security policy rejects style elements without it. */
const nonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''
// react-remove-scroll, which locks scrolling behind dialogs, reads the nonce from this variable.
Object.assign(globalThis, { __webpack_nonce__: nonce })

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refused request (4xx) is refused again.
      retry: (failures, error) => !isRefused(error) && failures < 2,
      refetchOnWindowFocus: false,
      // Herald may run on this machine: send requests even if the browser reports no network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

export function Console() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  )
}

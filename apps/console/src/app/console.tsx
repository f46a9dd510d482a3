import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from 'react-router/dom'
import { isSignedOut } from '../api/call.ts'
import { nonce } from './nonce.ts'
import { router } from './router.tsx'
import { theme, variables } from './theme.ts'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => !isSignedOut(error) && failures < 2,
      refetchOnWindowFocus: false,
      // Herald may well be on this machine, whatever the network says.
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

import './mantine-styles.ts'
import './app.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { Router } from 'wouter'
import { consolePath } from './api/address.ts'
import { createQueryClient } from './api/query-client.ts'
import { styleNonce } from './api/style-nonce.ts'
import { Toasts } from './parts/toasts.tsx'
import { aroundNavigation } from './parts/leave-guard.ts'
import { Routes } from './routes.tsx'
import { cssVariables, theme } from './theme.ts'

export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queryClient}>
        <Router base={consolePath} aroundNav={aroundNavigation}>
          <Routes />
        </Router>
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>
  )
}

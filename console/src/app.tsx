import './mantine-styles.ts'
import './app.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { Router } from 'wouter'
import { consolePath } from './api/address.ts'
import { createQueryClient } from './api/query-client.ts'
import { Toasts } from './parts/toasts.tsx'
import { Routes } from './routes.tsx'
import { cssVariables, theme } from './theme.ts'

/** Nonce of this response: the content security policy permits style elements that carry it. */
const styleNonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''
// The package that stops the page behind a dialog from scrolling adds a style element, and finds the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queryClient}>
        <Router base={consolePath}>
          <Routes />
        </Router>
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>
  )
}

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { takeSignInCode } from './sign-in/code.ts'

// The one-time code leaves the address before anything is requested, so that no log or referrer ever holds it.
takeSignInCode()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

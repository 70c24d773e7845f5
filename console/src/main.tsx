import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { takeArrival, watchArrivals } from './sign-in/arrival.ts'

// Codes of a sign-in leave the address before anything is requested, so that no log or referrer ever holds them.
takeArrival()
watchArrivals()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

import { useEffect, useState } from 'react'
import type { AroundNavHandler } from 'wouter'

/** Called before the user leaves; calls `leave` to go on. */
let guard: ((leave: () => void) => void) | undefined

/** Passes a navigation on, or asks first. Navigations within the page and to the sign-in are never asked about. */
export const aroundNavigation: AroundNavHandler = (navigate, to, options) => {
  const { pathname } = new URL(to, location.href)
  if (!guard || pathname === location.pathname || pathname.endsWith('/sign-in')) return navigate(to, options)
  return guard(() => navigate(to, options))
}

/** A question that is open: whether to leave the page. */
export interface LeaveQuestion {
  isOpen: boolean
  stay(): void
  leave(): void
}

/** While `isActive`, links, the buttons back and forward, and closing the tab ask before the page is left. */
export function useLeaveGuard(isActive: boolean): LeaveQuestion {
  const [leave, setLeave] = useState<() => void>()
  useEffect(() => {
    if (!isActive) return
    const { href, pathname } = location
    guard = (go) => setLeave(() => go)
    const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault()
    const onHistory = (event: PopStateEvent): void => {
      if (location.pathname === pathname) return
      // The address has changed already: it is put back until the user has decided.
      event.stopImmediatePropagation()
      history.pushState(null, '', href)
      setLeave(() => () => history.back())
    }
    addEventListener('beforeunload', onUnload)
    addEventListener('popstate', onHistory, { capture: true })
    return () => {
      guard = undefined
      removeEventListener('beforeunload', onUnload)
      removeEventListener('popstate', onHistory, { capture: true })
    }
  }, [isActive])
  return {
    isOpen: leave !== undefined,
    stay: () => setLeave(undefined),
    leave: () => {
      guard = undefined
      setLeave(undefined)
      leave?.()
    },
  }
}

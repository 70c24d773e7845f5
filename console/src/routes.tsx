import { lazy, Suspense, type ComponentType } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { statusOf } from './api/errors.ts'
import { useMay, useMe } from './api/me.ts'
import { FailedState, ForbiddenState } from './parts/states.tsx'
import { PageSkeleton } from './parts/skeletons.tsx'
import { hrefOf, screens, type Screen } from './screens.tsx'
import { ConnectionBanner } from './shell/connection-banner.tsx'
import { PageBoundary } from './shell/page-boundary.tsx'
import { Shell } from './shell/shell.tsx'
import { hasArrival } from './sign-in/arrival.ts'

const lazyPage = (load: () => Promise<ComponentType>) => lazy(async () => ({ default: await load() }))
const SignInPage = lazyPage(async () => (await import('./sign-in/page.tsx')).SignInPage)
const pages = new Map(screens.map((screen) => [screen, lazyPage(screen.load)]))

/** The sign-in page, or the console around the page of the address. */
export function Routes() {
  const [path] = useLocation()
  if (hasArrival() && path !== '/sign-in') return <Redirect to="/sign-in" replace />
  return (
    <Switch>
      <Route path="/sign-in">
        <Suspense fallback={null}>
          <SignInPage />
        </Suspense>
      </Route>
      <Route>
        <SignedIn />
      </Route>
    </Switch>
  )
}

function SignedIn() {
  const me = useMe()
  const [path] = useLocation()
  const query = useSearch()
  if (me.data) return <Screens />
  if (me.isPending)
    return (
      <>
        <ConnectionBanner />
        <PageSkeleton />
      </>
    )
  if (statusOf(me.error) !== 401) return <FailedState title="The console cannot start" error={me.error} retry={() => void me.refetch()} />
  const next = query === '' ? path : `${path}?${query}`
  return <Redirect to={next === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`} replace />
}

function Screens() {
  const may = useMay()
  const isPermitted = (screen: Screen) => screen.permissions.some(may)
  const first = screens.find((screen) => screen.navigation && isPermitted(screen))
  return (
    <Shell>
      <PageBoundary>
        <Suspense fallback={<PageSkeleton />}>
          <Switch>
            {screens.map((screen) => (
              <Route key={screen.path} path={screen.path}>
                {isPermitted(screen) ? <PageOf screen={screen} /> : <ForbiddenState permissions={screen.permissions} />}
              </Route>
            ))}
            <Route path="/logs">
              <Redirect to="/runs?tab=log" replace />
            </Route>
            <Route path="/">{first ? <Redirect to={hrefOf(first)} replace /> : <ForbiddenState permissions={[]} />}</Route>
            <Route>
              <FailedState title="There is no such page" text="The address may be mistyped, or from another version of the console." />
            </Route>
          </Switch>
        </Suspense>
      </PageBoundary>
    </Shell>
  )
}

function PageOf({ screen }: { screen: Screen }) {
  const Page = pages.get(screen)!
  return <Page />
}

import { Component, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { FailedState } from '../parts/states.tsx'

/** Shows a fault of a page in its place. The rest of the console stays usable; another address starts anew. */
export function PageBoundary({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  return <Boundary key={path.split('/')[1]}>{children}</Boundary>
}

class Boundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {}

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const isOutdated = error instanceof TypeError && /import|module/i.test(error.message)
    return (
      <FailedState
        title={isOutdated ? 'This page could not be loaded' : 'This page has failed'}
        text={isOutdated ? 'The service may have been updated since the console was opened. Load the console again.' : undefined}
        error={error}
        retry={() => location.reload()}
        retryLabel="Load again"
      />
    )
  }
}

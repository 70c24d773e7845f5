import { connectionLost } from '../api/connection.ts'
import { useStore } from '../api/store.ts'
import styles from './connection-banner.module.css'

/** A quiet line while the service cannot be reached. What was loaded stays on the screen. */
export function ConnectionBanner() {
  const isLost = useStore(connectionLost)
  return (
    <div role="status" className={isLost ? styles.banner : undefined}>
      {isLost && 'The service cannot be reached. Trying again until it answers.'}
    </div>
  )
}

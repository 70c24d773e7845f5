import { CloseButton } from '@mantine/core'
import { useStore } from '../api/store.ts'
import { dismiss, toasts } from './notify.ts'
import styles from './toasts.module.css'

/** Short messages at the lower edge of the page. Screen readers read new messages at once. */
export function Toasts() {
  const current = useStore(toasts)
  return (
    <div className={styles.list} role="status" aria-live="polite">
      {current.map(({ id, title, message, isFailure }) => (
        <div key={id} className={styles.toast} data-failed={isFailure}>
          <div className={styles.text}>
            {title && <b>{title}</b>}
            <div>{message.slice(0, 600)}</div>
          </div>
          <CloseButton size="sm" aria-label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}

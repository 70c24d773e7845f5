import { Button, Group, Textarea } from '@mantine/core'
import { CopyButton } from '../parts/copy-button.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { CreatedKey } from './queries.ts'
import styles from './keys.module.css'

/** The new key itself. The service does not show it again. */
export function NewKey({ created: { key, sub, roles, expires_at: expiresAt }, onDone }: { created: CreatedKey; onDone: () => void }) {
  return (
    <div className={styles.form}>
      <p className={styles.warning}>This is the only time that the key is shown. Whoever has it acts as {sub}.</p>
      <div className={styles.secret}>
        <Textarea
          label="Key"
          description={`${roles.join(', ')}, sent as the header x-service-access`}
          readOnly
          rows={6}
          value={key}
          spellCheck={false}
          classNames={{ input: styles.secretText! }}
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton text={key} label="Copy key" />
      </div>
      <Group justify="space-between">
        <span className={styles.quiet}>
          Expires <Timestamp at={expiresAt} />
        </span>
        <Button onClick={onDone} data-autofocus>
          Done
        </Button>
      </Group>
    </div>
  )
}

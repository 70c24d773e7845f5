import { UnstyledButton } from '@mantine/core'
import { useMay } from '../api/me.ts'
import { useAgent } from '../api/metadata.ts'
import styles from './starters.module.css'

/** Content of a new conversation: the agent, and first questions to choose from. */
export function Starters({ onChoose }: { onChoose: (text: string) => void }) {
  const agent = useAgent()
  const may = useMay()
  return (
    <div className={styles.welcome}>
      <h2 className={styles.name}>{agent.name}</h2>
      {agent.description && <p className={styles.description}>{agent.description}</p>}
      {may('chat') ? (
        <ul className={styles.starters}>
          {agent.conversation_starters.map(({ title, message }) => (
            <li key={title + message}>
              <UnstyledButton className={styles.starter} onClick={() => onChoose(message)}>
                <span className={styles.title}>{title}</span>
                {message !== title && <span className={styles.message}>{message}</span>}
              </UnstyledButton>
            </li>
          ))}
        </ul>
      ) : (
        <p className={styles.description}>Your key reads conversations. To ask, you need a key with the permission chat.</p>
      )}
    </div>
  )
}

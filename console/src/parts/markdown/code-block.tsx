import { memo } from 'react'
import { CopyButton } from '../copy-button.tsx'
import { splitLines } from './code-lines.ts'
import styles from './markdown.module.css'

/** Code with the language and a copy button. While the code grows, only the last lines are laid out again. */
export function CodeBlock({ code, language }: { code: string; language: string }) {
  return (
    <div className={styles.codeBlock}>
      <div className={styles.codeHead}>
        <span>{language || 'text'}</span>
        <CopyButton text={code} label="Copy code" />
      </div>
      <pre className={styles.code} tabIndex={0} role="region" aria-label={`Code: ${language || 'text'}`}>
        {splitLines(code).map((lines, index) => (
          <CodeLines key={index} lines={lines} />
        ))}
      </pre>
    </div>
  )
}

const CodeLines = memo(function CodeLines({ lines }: { lines: string }) {
  return <code>{lines}</code>
})

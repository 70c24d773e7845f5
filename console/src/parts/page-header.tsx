import { Title } from '@mantine/core'
import { useEffect, useRef, type ReactNode } from 'react'
import { useAgent } from '../api/metadata.ts'
import styles from './page-header.module.css'

interface PageHeaderProps {
  title: string
  /** A sentence below the title. */
  children?: ReactNode
  /** Buttons at the end of the line. */
  actions?: ReactNode
}

/** Heading of a page. It names the document and takes the focus after a navigation, so that a screen reader says where the user is. */
export function PageHeader({ title, children, actions }: PageHeaderProps) {
  const heading = usePageHeading(title)
  return (
    <header className={styles.header}>
      <div className={styles.texts}>
        <Title order={1} ref={heading} tabIndex={-1} className={styles.title}>
          {title}
        </Title>
        {children && <div className={styles.text}>{children}</div>}
      </div>
      {actions && <div className={styles.actions}>{actions}</div>}
    </header>
  )
}

let isFirstPage = true

/** Names the document after the page. The element with the returned reference takes the focus, except on the first page after a load. */
export function usePageHeading(title: string) {
  const heading = useRef<HTMLHeadingElement>(null)
  const agent = useAgent()
  useEffect(() => {
    document.title = `${title} · ${agent.name}`
  }, [title, agent.name])
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus({ preventScroll: true })
    isFirstPage = false
  }, [])
  return heading
}

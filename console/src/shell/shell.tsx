import { ActionIcon, Drawer } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ThreeBarsIcon } from '@primer/octicons-react'
import { useEffect, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useAgent } from '../api/metadata.ts'
import { AccountMenu } from './account-menu.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { Navigation } from './navigation.tsx'
import { SignInAgain } from './sign-in-again.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import styles from './shell.module.css'

/** Everything around a page: skip link, header, navigation, banner, and the dialog to sign in again. */
export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, drawer] = useDisclosure(false)
  const [path] = useLocation()
  useEffect(drawer.close, [path])
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main" onClick={focusMain}>
        Skip to content
      </a>
      <header className={styles.header}>
        <ActionIcon
          className={styles.menuButton}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label="Open navigation"
          onClick={drawer.open}
        >
          <ThreeBarsIcon />
        </ActionIcon>
        <AgentName />
        <div className={styles.headerEnd}>
          <ThemeSwitch />
          <AccountMenu />
        </div>
      </header>
      <div className={styles.sidebar}>
        <Navigation />
      </div>
      <Drawer opened={isOpen} onClose={drawer.close} size={260} title="Navigation" closeButtonProps={{ 'aria-label': 'Close navigation' }}>
        <Navigation />
      </Drawer>
      <main id="main" className={styles.main} tabIndex={-1}>
        <ConnectionBanner />
        {children}
      </main>
      <SignInAgain />
    </div>
  )
}

function AgentName() {
  const agent = useAgent()
  return (
    <div className={styles.agent}>
      <img src="./icon.svg" alt="" width={22} height={22} />
      <span className={styles.agentName} title={agent.name}>
        {agent.name}
      </span>
    </div>
  )
}

/** Moves the focus without a fragment: with a `<base>`, `#main` would be an address of another page. */
function focusMain(event: { preventDefault: () => void }): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

import { Link, useLocation } from 'wouter'
import { useMay } from '../api/me.ts'
import { hrefOf, screens, type Screen } from '../screens.tsx'
import { useEmptyScreens } from './rare-screens.ts'
import styles from './navigation.module.css'

const groups = ['Use', 'Build', 'Operate'] as const

/** Links to the screens that the caller may see, in groups. Rare screens that hold nothing are folded under "More". */
export function Navigation() {
  const may = useMay()
  const visible = screens.filter(
    ({ navigation, permissions }) => navigation && permissions.some(may) && (!navigation.permission || may(navigation.permission)),
  )
  const [path] = useLocation()
  const empty = useEmptyScreens(visible)
  const folded = visible.filter((screen) => empty.has(screen) && !isCurrent(screen, path))
  return (
    <nav aria-label="Screens">
      {groups.map((group) => {
        const members = visible.filter((screen) => screen.navigation?.group === group && !folded.includes(screen))
        if (members.length === 0) return null
        return (
          <section key={group} className={styles.group} aria-label={group}>
            <p className={styles.title}>{group}</p>
            <ScreenLinks screens={members} />
          </section>
        )
      })}
      {folded.length > 0 && (
        <details className={styles.group}>
          <summary className={styles.more}>More</summary>
          <ScreenLinks screens={folded} />
        </details>
      )}
    </nav>
  )
}

function isCurrent(screen: Screen, path: string): boolean {
  const href = hrefOf(screen)
  return path === href || path.startsWith(`${href}/`)
}

function ScreenLinks({ screens }: { screens: readonly Screen[] }) {
  return (
    <ul className={styles.list}>
      {screens.map((screen) => (
        <li key={screen.path}>
          <ScreenLink screen={screen} />
        </li>
      ))}
    </ul>
  )
}

function ScreenLink({ screen }: { screen: Screen }) {
  const [path] = useLocation()
  const ScreenIcon = screen.navigation!.icon
  return (
    <Link className={styles.link} href={hrefOf(screen)} aria-current={isCurrent(screen, path) ? 'page' : undefined}>
      <ScreenIcon size={16} />
      {screen.title}
    </Link>
  )
}

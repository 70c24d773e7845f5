import { Link, useLocation } from 'wouter'
import { useMay } from '../api/me.ts'
import { hrefOf, screens, type Screen } from '../screens.tsx'
import styles from './navigation.module.css'

const groups = ['Use', 'Build', 'Operate'] as const

/** Links to the screens that the caller may see, in groups. */
export function Navigation() {
  const may = useMay()
  const visible = screens.filter(
    ({ navigation, permissions }) => navigation && permissions.some(may) && (!navigation.permission || may(navigation.permission)),
  )
  return (
    <nav aria-label="Screens">
      {groups.map((group) => {
        const members = visible.filter((screen) => screen.navigation?.group === group)
        if (members.length === 0) return null
        return (
          <section key={group} className={styles.group} aria-label={group}>
            <p className={styles.title}>{group}</p>
            <ul className={styles.list}>
              {members.map((screen) => (
                <li key={screen.path}>
                  <ScreenLink screen={screen} />
                </li>
              ))}
            </ul>
          </section>
        )
      })}
    </nav>
  )
}

function ScreenLink({ screen }: { screen: Screen }) {
  const [path] = useLocation()
  const href = hrefOf(screen)
  const isCurrent = path === href || path.startsWith(`${href}/`)
  const ScreenIcon = screen.navigation!.icon
  return (
    <Link className={styles.link} href={href} aria-current={isCurrent ? 'page' : undefined}>
      <ScreenIcon size={16} />
      {screen.title}
    </Link>
  )
}

import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core'
import { DeviceDesktopIcon, MoonIcon, SunIcon } from '@primer/octicons-react'

const schemes = [
  { value: 'light', label: 'Light', Icon: SunIcon },
  { value: 'dark', label: 'Dark', Icon: MoonIcon },
  { value: 'auto', label: 'Like the system', Icon: DeviceDesktopIcon },
] as const

/** Menu of light, dark and the system's choice. Mantine keeps the choice in `localStorage`. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const current = schemes.find(({ value }) => value === colorScheme) ?? schemes[2]
  return (
    <Menu position="bottom-end" width={180}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Theme: ${current.label}`}>
          <current.Icon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {schemes.map(({ value, label, Icon }) => (
          <Menu.Item key={value} leftSection={<Icon />} onClick={() => setColorScheme(value)} fw={value === colorScheme ? 600 : 400}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconDeviceDesktop, IconLanguage, IconMoon, IconSun } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { chooseLanguage, languages } from '../i18n/languages.ts'

const schemes = [
  ['light', IconSun],
  ['dark', IconMoon],
  ['auto', IconDeviceDesktop],
] as const satisfies [MantineColorScheme, unknown][]

const check = <IconCheck size={16} aria-hidden />

export function LanguageItems() {
  const { i18n } = useTranslation()
  return languages.map(({ code, name }) => (
    <Menu.Item
      key={code}
      lang={code}
      onClick={() => void chooseLanguage(code)}
      rightSection={i18n.language === code && check}
    >
      {name}
    </Menu.Item>
  ))
}

export function ThemeItems() {
  const { t } = useTranslation()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return schemes.map(([name, Icon]) => (
    <Menu.Item
      key={name}
      leftSection={<Icon size={16} aria-hidden />}
      onClick={() => setColorScheme(name)}
      rightSection={colorScheme === name && check}
    >
      {t(`app.${name}`)}
    </Menu.Item>
  ))
}

/** Menus of language and theme for the sign-in page. */
export function Preferences() {
  const { t } = useTranslation()
  const { colorScheme } = useMantineColorScheme()
  const Scheme = schemes.find(([name]) => name === colorScheme)?.[1] ?? IconSun
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label={t('app.language')} title={t('app.language')}>
            <IconLanguage size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <LanguageItems />
        </Menu.Dropdown>
      </Menu>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label={t('app.theme')} title={t('app.theme')}>
            <Scheme size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <ThemeItems />
        </Menu.Dropdown>
      </Menu>
    </>
  )
}

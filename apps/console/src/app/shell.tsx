import { AppShell, Burger, Group, NavLink, ScrollArea, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconApps,
  IconBook2,
  IconCertificate,
  IconChartHistogram,
  IconDeviceMobileMessage,
  IconDevices,
  IconExternalLink,
  IconGauge,
  IconHistory,
  IconListCheck,
  IconSend,
  IconSettings,
  IconStack2,
  IconWebhook,
} from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, Outlet, useLocation } from 'react-router'
import icon from '../session/icon.svg'
import { Preferences } from '../session/preferences.tsx'
import { useCurrentSession } from '../session/session.ts'
import { ApplicationPicker } from './application-picker.tsx'

const pages = [
  ['/', 'overview', IconGauge],
  ['/send', 'send', IconSend],
  ['/tasks', 'tasks', IconListCheck],
  ['/statistics', 'statistics', IconChartHistogram],
  ['/devices', 'devices', IconDevices],
  ['/certificates', 'certificates', IconCertificate],
  ['/webhooks', 'webhooks', IconWebhook],
  ['/audit', 'audit', IconHistory],
  ['/settings', 'settings', IconSettings],
  ['/test-device', 'testDevice', IconDeviceMobileMessage],
] as const

export default function Shell() {
  const { t } = useTranslation()
  const { pathname } = useLocation()
  const { session } = useCurrentSession()
  const [opened, { toggle, close }] = useDisclosure(false)
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)

  // Focus the new page, so that screen readers announce it as after a full page load.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the path changes
  useEffect(() => {
    if (first.current) first.current = false
    else main.current?.focus()
  }, [pathname])

  // The pages of one task and one device mark the link of their list.
  const isCurrent = (path: string) =>
    path === '/' ? pathname === '/' : pathname.startsWith(path) || `${pathname}s` === path
  const operator = session.role === 'operator'
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip" href="#content">
        {t('app.skip')}
      </a>
      <AppShell.Header className="bar">
        <Group h="100%" px="md" gap="sm" wrap="nowrap">
          <Burger
            opened={opened}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={t('app.toggleMenu')}
            aria-expanded={opened}
          />
          <Link to="/" className="brand" aria-label={`${t('app.name')}: ${t('nav.overview')}`}>
            <img src={icon} alt="" width={28} height={28} />
            <Text component="span" fw={700} visibleFrom="xs">
              {t('app.name')}
            </Text>
          </Link>
          <ApplicationPicker />
          <Preferences />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('app.menu')}>
        <AppShell.Section grow component={ScrollArea}>
          {pages.map(([path, name, Icon]) => (
            <NavLink
              key={path}
              component={Link}
              to={path}
              onClick={close}
              label={t(`nav.${name}`)}
              leftSection={<Icon size={18} aria-hidden />}
              active={isCurrent(path)}
              aria-current={isCurrent(path) ? 'page' : undefined}
            />
          ))}
          {operator && (
            <NavLink
              component={Link}
              to="/applications"
              onClick={close}
              label={t('nav.applications')}
              leftSection={<IconApps size={18} aria-hidden />}
              active={isCurrent('/applications')}
              aria-current={isCurrent('/applications') ? 'page' : undefined}
            />
          )}
        </AppShell.Section>
        <AppShell.Section>
          {operator && (
            <NavLink
              href="/queues"
              label={t('nav.queues')}
              leftSection={<IconStack2 size={18} aria-hidden />}
              rightSection={<IconExternalLink size={14} aria-hidden />}
            />
          )}
          <NavLink
            href="/docs"
            label={t('nav.docs')}
            leftSection={<IconBook2 size={18} aria-hidden />}
            rightSection={<IconExternalLink size={14} aria-hidden />}
          />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" ref={main} tabIndex={-1} className="background">
        <div className="page">
          <Outlet />
        </div>
      </AppShell.Main>
    </AppShell>
  )
}

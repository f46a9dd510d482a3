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
import { type ReactNode, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation, useNavigationType } from 'react-router'
import { zoneText } from '../calculations/time-zone.ts'
import { OVERVIEW_OF_ALL, pathIn, placeOf } from '../session/application-path.ts'
import { useDocsLink } from '../session/docs-link.ts'
import icon from '../session/icon.svg'

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

type Props = {
  /** The links of the menu lead to its pages. */
  appId: string | undefined
  operator: boolean
  /** Right of the name: the application and the account. */
  header?: ReactNode
  children: ReactNode
}

/** Header, menu and foot around a page. It needs no session, so it is shown while the session is being read. */
export function Frame({ appId, operator, header, children }: Props) {
  const { t, i18n } = useTranslation()
  const { pathname } = useLocation()
  const navigation = useNavigationType()
  const { path: current } = placeOf(pathname)
  const docs = useDocsLink()
  const [opened, { toggle, close }] = useDisclosure(false)
  const main = useRef<HTMLElement>(null)
  const burger = useRef<HTMLButtonElement>(null)
  const previous = useRef(pathname)

  // Focus the new page, so that screen readers announce it as after a full page load. A redirect is part of such a load.
  useEffect(() => {
    if (previous.current === pathname) return
    previous.current = pathname
    if (navigation !== 'REPLACE') main.current?.focus()
  }, [pathname, navigation])

  useEffect(() => {
    if (!opened) return
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      close()
      burger.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [opened, close])

  // The pages of one task and one device mark the link of their list.
  const isCurrent = (path: string) =>
    path === '/'
      ? current === '/' || current === OVERVIEW_OF_ALL
      : current.startsWith(path) || `${current}s` === path
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
            ref={burger}
            opened={opened}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={t('app.toggleMenu')}
            aria-expanded={opened}
          />
          <Link
            to={pathIn(appId, '/')}
            className="brand"
            aria-label={`${t('app.name')}: ${t('nav.overview')}`}
          >
            <img src={icon} alt="" width={28} height={28} />
            <Text component="span" fw={700} visibleFrom="xs">
              {t('app.name')}
            </Text>
          </Link>
          {header}
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('app.menu')} className={opened ? undefined : 'closed-menu'}>
        <AppShell.Section grow component={ScrollArea}>
          {pages.map(([path, name, Icon]) => (
            <NavLink
              key={path}
              component={Link}
              to={pathIn(appId, path)}
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
          {operator && <OutsideLink href="/queues" label={t('nav.queues')} icon={IconStack2} />}
          <OutsideLink href={docs} label={t('nav.docs')} icon={IconBook2} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" ref={main} tabIndex={-1} className="background">
        <div className="page">{children}</div>
        <Text component="footer" className="page foot" size="xs" c="dimmed">
          {t('app.zone', { zone: zoneText(i18n.language) })}
        </Text>
      </AppShell.Main>
    </AppShell>
  )
}

/** A page of its own, in a new tab: a draft or a list stays open in this one. */
function OutsideLink({ href, label, icon: Icon }: { href: string; label: string; icon: typeof IconBook2 }) {
  const { t } = useTranslation()
  return (
    <NavLink
      href={href}
      target="_blank"
      label={label}
      aria-label={t('app.opensTab', { name: label })}
      leftSection={<Icon size={18} aria-hidden />}
      rightSection={<IconExternalLink size={14} aria-hidden />}
    />
  )
}

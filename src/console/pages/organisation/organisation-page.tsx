/** Organisation: figures, members, groups, invitations, activity and alerts of the one in use. */
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import type { PageProps } from '../../shell/page-props.ts'
import { hrefOf } from '../../shell/router.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { Loaded, PageFrame } from '../../ui/page.tsx'
import { PageTabs } from '../../ui/page-tabs.tsx'
import { Name } from '../../ui/person-name.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { AlertList } from './alert-list.tsx'
import { ActivityList } from './activity-list.tsx'
import { FigureTiles } from './figure-tiles.tsx'
import { GroupList } from './group-list.tsx'
import { BulkInvite } from './bulk-invite.tsx'
import { MemberList } from './member-list.tsx'
import { OrganisationChoice } from './organisation-choice.tsx'
import { TrendCard } from './trend-card.tsx'

const PARTS = ['overview', 'members', 'groups', 'invite', 'activity', 'alerts'] as const
type Part = (typeof PARTS)[number]

const isPart = (text: string | undefined): text is Part => PARTS.some((part) => part === text)

const PartLinks = ({ current }: { readonly current: Part }) => {
  const { organisation } = messages()
  const tabs = PARTS.map((part) => ({
    href: part === 'overview' ? hrefOf('organisation') : hrefOf('organisation', part),
    text: organisation[part],
    isCurrent: part === current,
  }))
  return <PageTabs label={organisation.parts} tabs={tabs} />
}

type Context = Schemas['Context']

const PartContent = (of: {
  readonly part: Part
  readonly context: Context
  readonly reload: () => Promise<void>
}) => {
  const { part, context, reload } = of
  const active = context.active_organisation!
  const mayManage = active.role !== 'member'
  switch (part) {
    case 'overview':
      return (
        <>
          <FigureTiles />
          <TrendCard />
          <OrganisationChoice context={context} reload={reload} />
        </>
      )
    case 'members':
      return <MemberList own={context.user.id} mayManage={mayManage} />
    case 'groups':
      return <GroupList mayManage={mayManage} />
    case 'invite':
      return <BulkInvite role={active.role} />
    case 'activity':
      return <ActivityList />
    case 'alerts':
      return <AlertList />
  }
}

const InUse = (of: Parameters<typeof PartContent>[0]) => {
  const { organisation } = messages()
  const active = of.context.active_organisation!
  return (
    <>
      <p class="lead">
        <MessageText
          of={organisation.nameAndRole}
          values={{
            name: (
              <strong>
                <Name of={active.name} />
              </strong>
            ),
            role: organisation[`role_${active.role}`],
          }}
        />
      </p>
      {hasScope('full') ? (
        <>
          <PartLinks current={of.part} />
          <PartContent key={`${active.id} ${of.part}`} {...of} />
        </>
      ) : (
        <OrganisationChoice context={of.context} reload={of.reload} />
      )}
    </>
  )
}

export default function OrganisationPage({ rest: [wanted] }: PageProps) {
  const { frame } = messages()
  const context = useResource('context', () => dataOf(api.GET('/api/v1/context')), [
    'org.*',
    'session.*',
    'sync.done',
  ])
  const part = isPart(wanted) ? wanted : 'overview'
  return (
    <PageFrame title={frame.organisation}>
      <RightsNotice needs="full" />
      <Loaded from={context}>
        {(data) =>
          data.active_organisation === undefined ? (
            <OrganisationChoice context={data} reload={context.reload} />
          ) : (
            <InUse part={part} context={data} reload={context.reload} />
          )
        }
      </Loaded>
    </PageFrame>
  )
}
